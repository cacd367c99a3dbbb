"""Single messages: `requests` builds what the client sends, `replies` parses what the server sends, `login` the
packets before the message stream begins, `describe` the description of a statement. Nothing here does I/O."""
