"""Labels by the nearest examples: for label lists too long to be read to a small model."""
