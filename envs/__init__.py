"""Gymnasium environments: one ``ToolEnv``, the task families, registration and the vector env."""
