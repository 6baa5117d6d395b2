"""From one dialect to another: which writer a file name means, and what the new file lacks."""

from collections.abc import Callable, Iterable
from pathlib import Path

from closed_chain_dynamics.description.elements import Description
from closed_chain_dynamics.description.extended_yaml_writer import to_extended
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.mjcf_writer import to_mjcf
from closed_chain_dynamics.description.urdf_plus_writer import to_urdf_plus
from closed_chain_dynamics.description.writer import to_xml, write_files
from closed_chain_dynamics.errors import DescriptionError, nearest_names

__all__ = ['FORMATS', 'convert']

Texts = dict[str, str]  # suffix -> content


def _own(description: Description, gravity: Iterable[float]) -> tuple[Texts, LeftOut]:
    return {'.urdf': to_xml(description)}, LeftOut()


def _urdf_plus(description: Description, gravity: Iterable[float]) -> tuple[Texts, LeftOut]:
    text, left_out = to_urdf_plus(description)
    return {'.urdf': text}, left_out


def _extended(description: Description, gravity: Iterable[float]) -> tuple[Texts, LeftOut]:
    tree, loops, left_out = to_extended(description)
    return {'.urdf': tree, '.yaml': loops}, left_out


def _mjcf(description: Description, gravity: Iterable[float]) -> tuple[Texts, LeftOut]:
    text, left_out = to_mjcf(description, gravity)
    return {'.xml': text}, left_out


Writer = Callable[[Description, Iterable[float]], tuple[Texts, LeftOut]]
FORMATS: dict[str, tuple[Writer, tuple[str, ...]]] = {
    'urdf': (_own, ('.urdf',)),
    'urdf+': (_urdf_plus, ('.urdf',)),
    'extended': (_extended, ('.yaml', '.yml', '.urdf')),
    'mjcf': (_mjcf, ('.xml', '.mjcf')),
}


def convert(
    description: Description, path: str | Path, gravity: Iterable[float], *, to: str = ''
) -> tuple[list[Path], list[str]]:
    """
    Write a description in the format that `to` or the suffix of the path names.

    Return the files, and a sentence on each kind of thing that the format has no place for.
    """
    path = Path(path)
    if to and to not in FORMATS:
        raise DescriptionError(f'{to!r} is no format', repair=nearest_names(to, FORMATS))
    suffix = path.suffix.lower()
    kind = to or next((name for name, (_, own) in FORMATS.items() if suffix in own), '')
    if not kind or suffix not in FORMATS[kind][1]:
        known = ', '.join(f'{name} ({" ".join(own)})' for name, (_, own) in FORMATS.items())
        raise DescriptionError(
            f'the suffix {path.suffix!r} means no format that can be written',
            file=path,
            repair=f'Known: {known}.',
        )
    texts, left_out = FORMATS[kind][0](description, gravity)
    files = {
        path if len(texts) == 1 else path.with_suffix(own): text for own, text in texts.items()
    }
    write_files(files)
    return list(files), left_out.sentences()
