"""Personal data and secrets in texts, found by rules, replaced reversibly. Loads no engine."""
