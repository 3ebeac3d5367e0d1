"""CAD tasks."""
