"""The command line. One small file a command; nothing imports this package."""
