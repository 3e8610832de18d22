"""Text for messages: what a file holds or is called reaches the terminal as text alone."""


def printable(text: str) -> str:
    """Returns ``text`` with escapes for what cannot be printed, line breaks among it."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def printable_lines(text: str) -> str:
    """Returns ``text`` with escapes for what cannot be printed, but for line breaks and tabs."""
    return "".join(each if each in "\n\t" else printable(each) for each in text)
