"""HTTP: raw-path routing, the order of checks, answers and problems. The only place that knows statuses."""
