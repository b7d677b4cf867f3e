"""One file for each part: measure(session), rows(raw) for the summary, details(raw) as Markdown."""
