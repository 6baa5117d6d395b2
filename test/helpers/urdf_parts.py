"""Parts of small URDF texts."""


def link(name):
    return (
        f'<link name="{name}"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    )


def joint(
    name, parent, child, *, kind='continuous', axis='0 0 1', origin='', inside='', attributes=''
):
    return (
        f'<joint name="{name}" type="{kind}" {attributes}><origin {origin}/>'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>{inside}'
        '</joint>'
    )


def robot(*parts):
    return '<robot name="r" xmlns:cc="urn:closed_chain_dynamics">' + ''.join(parts) + '</robot>'
