"""The local page: a curator plans, looks, releases and takes the report home."""
