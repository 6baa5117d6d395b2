"""Pictures without a display: triangles into pixels, the nearest in front."""

import numpy as np

from closed_chain_dynamics.kernels.records import kernel


@kernel
def rasterize(points, colours, owners, nearness, image, owner):
    """
    Draw triangles; `image` (height, width, 3) keeps the colour of what is nearest.

    `points` (n, 3, 3): column and row of a corner in pixels, and 1 / its distance, which is what
    changes linearly across a triangle in perspective. `colours` (n, 3, 3) per corner. `owners`
    (n,): what a triangle belongs to, left in `owner`. `nearness`, zero at first, the 1 / distance.
    """
    height, width = nearness.shape
    for n in range(len(points)):
        xa, ya, wa = points[n, 0, 0], points[n, 0, 1], points[n, 0, 2]
        xb, yb, wb = points[n, 1, 0], points[n, 1, 1], points[n, 1, 2]
        xc, yc, wc = points[n, 2, 0], points[n, 2, 1], points[n, 2, 2]
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        if abs(area) < 1e-9:
            continue
        first_row = max(0, int(np.ceil(min(ya, yb, yc) - 0.5)))
        last_row = min(height - 1, int(np.floor(max(ya, yb, yc) - 0.5)))
        first_column = max(0, int(np.ceil(min(xa, xb, xc) - 0.5)))
        last_column = min(width - 1, int(np.floor(max(xa, xb, xc) - 0.5)))
        # the shares of corners a and b change by these from column to column
        step_a, step_b = (yb - yc) / area, (yc - ya) / area
        x = first_column + 0.5
        for row in range(first_row, last_row + 1):
            y = row + 0.5
            a = ((xb - x) * (yc - y) - (xc - x) * (yb - y)) / area - step_a
            b = ((xc - x) * (ya - y) - (xa - x) * (yc - y)) / area - step_b
            for column in range(first_column, last_column + 1):
                a += step_a
                b += step_b
                c = 1.0 - a - b
                if a < 0.0 or b < 0.0 or c < 0.0:
                    continue
                near = a * wa + b * wb + c * wc
                if near > nearness[row, column]:
                    nearness[row, column] = near
                    owner[row, column] = owners[n]
                    for k in range(3):
                        image[row, column, k] = (
                            a * colours[n, 0, k] + b * colours[n, 1, k] + c * colours[n, 2, k]
                        )


@kernel
def cast_shadows(nearness, eye, axes, scale, ground, light_axes, light_map, bias, shadow):
    """
    Set `shadow` (height, width) to 255 where something stands between a pixel and the light.

    `light_map` is the picture that the light has, as `rasterize` leaves it, with the height
    towards the light for nearness; `light_axes` (3, 4) gives its column, row and height of a
    point in the world. Pixels of nothing are those of the ground. `bias` keeps what is lit from
    shading itself [m].
    """
    rows, columns = nearness.shape
    map_rows, map_columns = light_map.shape
    for row in range(rows):
        up = (0.5 * rows - row - 0.5) / scale
        for column in range(columns):
            right = (column + 0.5 - 0.5 * columns) / scale
            x = right * axes[0, 0] + up * axes[1, 0] - axes[2, 0]
            y = right * axes[0, 1] + up * axes[1, 1] - axes[2, 1]
            z = right * axes[0, 2] + up * axes[1, 2] - axes[2, 2]
            if nearness[row, column] > 0.0:
                distance = 1.0 / nearness[row, column]
            elif z < 0.0:
                distance = (ground - eye[2]) / z
            else:
                continue
            x, y, z = eye[0] + distance * x, eye[1] + distance * y, eye[2] + distance * z
            u = light_axes[0, 0] * x + light_axes[0, 1] * y + light_axes[0, 2] * z
            v = light_axes[1, 0] * x + light_axes[1, 1] * y + light_axes[1, 2] * z
            w = light_axes[2, 0] * x + light_axes[2, 1] * y + light_axes[2, 2] * z
            i = int(np.floor(v + light_axes[1, 3]))
            j = int(np.floor(u + light_axes[0, 3]))
            if (
                0 <= i < map_rows
                and 0 <= j < map_columns
                and light_map[i, j] > w + light_axes[2, 3] + bias
            ):
                shadow[row, column] = 255


@kernel
def finish(image, owner, shadow, darker, outline, out):
    """
    Write a picture of bytes: darker in shadow, and with a line where one thing meets another.

    `shadow` (height / k, width / k), 0 to 255, is coarser than the rest by a whole number k.
    """
    rows, columns = owner.shape
    k = rows // shadow.shape[0]
    for row in range(rows):
        for column in range(columns):
            light = 1.0 - darker / 255.0 * shadow[row // k, column // k]
            mine = owner[row, column]
            if (row > 0 and owner[row - 1, column] != mine) or (
                column > 0 and owner[row, column - 1] != mine
            ):
                light *= outline  # tells a link from one behind it that has the same colour
            for c in range(3):
                out[row, column, c] = min(255.0, max(0.0, light * image[row, column, c]))
