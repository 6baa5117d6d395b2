# Copyright 2026 the authors of closed_chain_dynamics
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The colours of figures and pictures: red, green and blue from 0 to 255."""

__all__ = ['CLOSED_COLOUR', 'EVENT_COLOURS', 'GREY', 'INK', 'OPEN_COLOUR', 'Colour', 'web']

Colour = tuple[int, int, int]

INK: Colour = (43, 47, 54)
GREY: Colour = (128, 136, 147)
CLOSED_COLOUR: Colour = (38, 154, 80)
OPEN_COLOUR: Colour = (214, 57, 48)
EVENT_COLOURS = {
    'connect': CLOSED_COLOUR,
    'touch_down': CLOSED_COLOUR,
    'cut': OPEN_COLOUR,
    'lift_off': OPEN_COLOUR,
}


def web(colour: Colour) -> str:
    """Return a colour as matplotlib takes it, for instance '#269a50'."""
    return '#{:02x}{:02x}{:02x}'.format(*colour)
