"""The command line: arguments to settings, settings to one call."""
