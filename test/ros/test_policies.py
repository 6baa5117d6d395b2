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

"""
The policies of ROS 2 security allow what the nodes do, and no more.

What nodes do is asked of the graph, in all circumstances in which they do more than usual. That
`ros2 security` takes the file is tested where that tool is installed; whether the middleware then
refuses the rest is not, since the one of the Python packages has no security.
"""

from collections import defaultdict
from contextlib import ExitStack, suppress
from dataclasses import replace
from fnmatch import fnmatchcase
import time

from geometry_msgs.msg import WrenchStamped
from helpers.floating_hopper import HOPPER
from helpers.ros_helpers import own_domain  # skips this file where there is no rclpy
from lxml import etree
import pytest
from rclpy.node import NodeNameNonExistentError

from closed_chain_dynamics.model.library import share_folder
from closed_chain_dynamics.ros import composition
from closed_chain_dynamics.ros.viewer_streams import STREAMS

# made at set-up where there is no distribution
pytest.importorskip('control_msgs', reason='control_msgs is not installed here')
pytest.importorskip('nav_msgs', reason='nav_msgs is not installed here')

POLICIES = share_folder() / 'config' / 'policies.xml'
ASKED_OF_THE_GRAPH = {
    'publish': 'get_publisher_names_and_types_by_node',
    'subscribe': 'get_subscriber_names_and_types_by_node',
    'reply': 'get_service_names_and_types_by_node',
    'request': 'get_client_names_and_types_by_node',
}
# What an action consists of, as sros2 sees it.
EXECUTE = {'publish': ('feedback', 'status'), 'reply': ('send_goal', 'cancel_goal', 'get_result')}
# Topics of the middleware that a node writes and reads for what it does.
DDS_NAMES = {
    'publish': {'publish': 'rt{}', 'reply': 'rr{}Reply', 'request': 'rq{}Request'},
    'subscribe': {'subscribe': 'rt{}', 'reply': 'rq{}Request', 'request': 'rr{}Reply'},
}
FIRM_GRIP = 100.0  # a force that makes contact [N]
LOOK, AFTERWARDS = 0.5, 2.0  # between two looks at the graph; until what comes late is in it [s]
LONG_ENOUGH = 200.0  # for all that is allowed to be done, on a busy machine [s]


def allowed(policies=POLICIES):
    """Return {(enclave, what to do, name with stars)} of the policies."""
    rules = set()
    for profile in etree.parse(policies).iter('profile'):
        enclave = profile.getparent().getparent().get('path')
        namespace = profile.get('ns').rstrip('/') + '/'
        for group in profile:
            assert set(group.attrib.values()) == {'ALLOW'}
            for each in group:
                name = each.text.replace('~', namespace + profile.get('node'))
                name = name if name[0] == '/' else namespace + name
                for verb in group.attrib:
                    parts = EXECUTE if verb == 'execute' else {verb: [None]}
                    rules |= {
                        (enclave, does, f'{name}/_action/{part}' if part else name)
                        for does, those in parts.items()
                        for part in those
                    }
    return rules


def covers(rule, deed):
    """Return whether a rule allows something; names match as in DDS security, by fnmatch."""
    return rule[:2] == deed[:2] and fnmatchcase(deed[2], rule[2])


class Deeds:
    """What nodes were seen to do, by the graph."""

    def __init__(self):
        self._enclaves, self._done = {}, defaultdict(set)  # by domain and name of a node

    def look(self, ros):
        """Ask the graph of a domain."""
        for name, namespace, enclave in ros.node.get_node_names_and_namespaces_with_enclaves():
            if name == ros.node.get_name() or not enclave:  # the graph knows that later
                continue
            node = ros.context.get_domain_id(), name
            self._enclaves[node] = enclave
            for does, question in ASKED_OF_THE_GRAPH.items():
                with suppress(NodeNameNonExistentError):  # it has ended meanwhile
                    answer = getattr(ros.node, question)(name, namespace)
                    self._done[node] |= {(does, each) for each, _ in answer}

    @property
    def seen(self):
        """Return {(enclave, what nodes with it do, name)}."""
        return {
            (enclave, *each)
            for node, enclave in self._enclaves.items()
            for each in self._done[node]
        }

    @property
    def watchdogs(self):
        """Return the enclaves of watchdogs, which have a node of their own."""
        return {
            enclave
            for (_, name), enclave in self._enclaves.items()
            if name.startswith('watchdog_')
        }

    def unused(self, rules):
        """Return the rules that nothing seen needs."""
        seen = self.seen
        return {rule for rule in rules if not any(covers(rule, each) for each in seen)}

    def beyond(self, rules):
        """Return what was seen and no rule allows."""
        return {each for each in self.seen if not any(covers(rule, each) for rule in rules)}


@pytest.fixture
def domains(tmp_path):
    """Return three domains: the graph tells nodes of one name apart only between domains."""
    with ExitStack() as stack:
        yield [stack.enter_context(own_domain(tmp_path)) for _ in range(3)]


def start(ros, programs, namespace='/', **parameters):
    """Start programs as the launch files do, with parameters beside those of each."""
    for each in programs:
        more = {'use_sim_time': True, **parameters.get(each.executable, {})}
        words = replace(each, parameters={**each.parameters, **more}).arguments
        ros.run(each.module, *words, '-r', f'__ns:={namespace}')


def test_nodes_do_what_the_policies_allow_and_no_more(domains, tmp_path):
    """A demonstration, a robot with sensors, and nodes that wait for a model."""
    simulated, real, waiting = domains
    options = ('--torque', 'joint_commands=true', '--torque', 'trajectory_action=true')
    simulated.run('closed_chain_dynamics.cli', 'up', 'swing', '--demo', '--port', '0', *options)
    (tmp_path / 'hopper.urdf').write_text(HOPPER)
    start(
        real,
        composition.hardware(tmp_path / 'hopper.urdf'),
        torque_node={'base_source': 'imu'},
        contact_node={'force_contacts': ['foot'], 'height_contacts': ['hand']},
    )
    names = ('simulator_node', 'torque_node', 'loop_state_node', 'reference_node', 'viewer_node')
    start(
        waiting,
        [composition.Program(name, 'without a model') for name in names],
        torque_node={'base_source': 'odometry'},
        viewer_node={'port': 0},
    )
    wrench, grip = real.publisher(WrenchStamped, 'wrench/foot'), WrenchStamped()
    grip.wrench.force.z = FIRM_GRIP
    # it listens to them while a browser looks, which none does here
    seldom = {(composition.enclave('viewer_node'), 'subscribe', f'/{each}') for each in STREAMS}
    watchdogs = {composition.enclave('torque_node')}  # whose rules are those of their nodes

    rules, deeds, end = allowed(), Deeds(), time.monotonic() + LONG_ENOUGH
    while (
        deeds.unused(rules) > seldom or deeds.watchdogs != watchdogs
    ) and time.monotonic() < end:
        for each in domains:
            each.spin(LOOK / len(domains))
            deeds.look(each)
        wrench.publish(grip)  # without a stamp: as of now
    assert deeds.unused(rules) == seldom
    for each in domains:
        each.spin(AFTERWARDS / len(domains))
        deeds.look(each)
    assert deeds.beyond(rules) == set()
    assert deeds.watchdogs == watchdogs


def test_in_another_namespace_the_policies_need_another_namespace(domains, tmp_path):
    """As the page about security says: with sed."""
    ros, here = domains[0], tmp_path / 'policies.xml'
    here.write_text(POLICIES.read_text().replace('ns="/"', 'ns="/leg"'))
    rules, deeds, names = allowed(here), Deeds(), ('simulator_node', 'contact_node')
    start(ros, [composition.Program(name, 'without a model') for name in names], '/leg')

    def is_there():
        deeds.look(ros)
        publishing = {(composition.enclave(name), 'publish', '/leg/diagnostics') for name in names}
        return publishing <= deeds.seen

    ros.wait(is_there, 'the nodes')
    ros.spin(AFTERWARDS)
    deeds.look(ros)
    assert deeds.beyond(rules) == set()
    assert deeds.beyond(allowed()) != set()


def test_ros2_security_makes_keys_and_permissions_of_the_policies(tmp_path):
    """And understands each rule as these tests do."""
    tool = pytest.importorskip(
        'sros2.api._artifact_generation', reason='ros2 security is not installed here'
    )
    tool.generate_artifacts(tmp_path, [], [POLICIES])
    rules = allowed()
    for enclave in {rule[0] for rule in rules}:
        folder = tmp_path / 'enclaves' / enclave[1:]
        assert {path.name for path in folder.iterdir()} >= {
            'key.pem',
            'cert.pem',
            'permissions.p7s',
        }
        granted = etree.parse(folder / 'permissions.xml').getroot()
        for side in ('publish', 'subscribe'):
            assert {each.text for each in granted.iterfind(f'.//{side}/topics/topic')} == {
                'ros_discovery_info',
                *(
                    DDS_NAMES[side][does].format(name)
                    for own, does, name in rules
                    if own == enclave and does in DDS_NAMES[side]
                ),
            }
        assert granted.findtext('.//default') == 'DENY'
