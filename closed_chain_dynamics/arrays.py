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

"""Arrays of numbers, as the type checker knows them; the names say how many indices."""

import numpy as np
from numpy.typing import NDArray

__all__ = ['FLOAT', 'Array', 'Matrix', 'Vector']

FLOAT = np.dtype(float)  # of all of them
Array = NDArray[np.float64]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
