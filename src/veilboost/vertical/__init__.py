"""Protocols between a lead and partners: one file per protocol, both sides."""
