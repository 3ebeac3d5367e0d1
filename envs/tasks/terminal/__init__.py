"""Terminal tasks."""
