"""The migration study: whether another metric, backend or index accepts the same documents, and if not, why."""
