"""
Closing the loops: poses (`search`), and rates that the loops allow (`completion`).

`search` tries starts (`starts`) with the joints that the user holds (`held_joints`), and
`branches` names which of several poses was found. What completes a partly known state lives here.
It may import `dynamics` and the rooms below it.
"""
