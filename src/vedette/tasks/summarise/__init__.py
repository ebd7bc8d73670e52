"""Free summaries of texts of any length."""
