"""The colours of figures and pictures: red, green and blue from 0 to 255."""

__all__ = ['CLOSED', 'EVENT_COLOURS', 'GREY', 'INK', 'OPEN', 'Colour', 'web']

Colour = tuple[int, int, int]

INK: Colour = (43, 47, 54)
GREY: Colour = (128, 136, 147)
CLOSED: Colour = (38, 154, 80)
OPEN: Colour = (214, 57, 48)
EVENT_COLOURS = {'connect': CLOSED, 'touch_down': CLOSED, 'cut': OPEN, 'lift_off': OPEN}


def web(colour: Colour) -> str:
    """Return a colour as matplotlib takes it, for instance '#269a50'."""
    return '#{:02x}{:02x}{:02x}'.format(*colour)
