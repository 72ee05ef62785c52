"""Plain values to something a person reads: tables and pictures in the terminal, one self-contained HTML file."""
