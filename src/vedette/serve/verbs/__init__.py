"""The tasks as a request asks for them: one table, for HTTP and for MCP. Knows neither."""
