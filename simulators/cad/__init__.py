"""A parametric CAD application on OpenCascade."""
