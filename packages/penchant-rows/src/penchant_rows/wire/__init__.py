"""JSON of rows: their settings, and what their operations take and answer."""
