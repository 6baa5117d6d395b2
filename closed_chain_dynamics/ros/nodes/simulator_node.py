"""
`simulator_node`: the mechanism in motion, in real time, at a factor of it, or step by step.

Takes                         Type                            What
actuator_torques              sensor_msgs/JointState          name and effort, by actuator [N m, N]
contact/connect, contact/cut  std_msgs/String                 the name of a loop or tree joint
external_wrench               geometry_msgs/WrenchStamped     on link frame_id, in its axes

Gives                         Type                            When
joint_states                  sensor_msgs/JointState          every period; joints of one degree
multi_dof_joint_states        sensor_msgs/MultiDOFJointState  every period; the other joints
/clock                        rosgraph_msgs/Clock             every period
contact/state                 std_msgs/String, latched        JSON {joint: closed?}, on change
contact/events                std_msgs/String                 JSON, one per event or refusal
robot_description             std_msgs/String, latched        once, if parameter `model` is given
/tf, /tf_static               tf2_msgs/TFMessage              at `scene_rate`; latched
markers                       visualization_msgs/MarkerArray  at `scene_rate`, if anybody listens
joint_wrenches/<joint>        geometry_msgs/WrenchStamped     at `scene_rate`, if anybody listens
diagnostics                   diagnostic_msgs/DiagnosticArray once a second

Services: `pause` (std_srvs/SetBool), `step` (Trigger; one period of a simulation that is paused)
and `reset` (Trigger).

All stamps are simulated time, which begins at 0 (as a stamp 1 ns), also after `reset`. A joint of
several degrees is a transform in its joint frame and a twist in the child's axes; a tree joint
that is cut is the pose of its child in the world. An event is {time, kind, name, mobility_before,
mobility_after, energy_lost [J], impulse [N s]}, a refusal {time, kind: refused, name, wanted,
reason}. A wrench in a joint is what it passes on to its child, in the frame of the child link, or
`loop/<name>`.

Torques that nobody renews for `torque_timeout` of simulated time become zero. Bad names, sizes and
numbers are refused as a whole, counted and named in diagnostics. Inputs act from the next period
on; an impossible event changes nothing. A step that fails stops time; `reset` recovers.
"""

import math
import sys

from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.changes import CONNECT_ANGLE, CONNECT_GAP
from closed_chain_dynamics.ros.driven_simulation import DrivenSimulation
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.qos import COMMAND, STREAM
from closed_chain_dynamics.ros.messages.simulation_messages import SimulationMessages
from closed_chain_dynamics.ros.pacing import Pace
from closed_chain_dynamics.ros.parameters import Setting
from closed_chain_dynamics.ros.running import run
from closed_chain_dynamics.simulation.simulation import INTEGRATORS

__all__ = ['SimulatorNode', 'main']

REPORT_EVERY = 1.0  # diagnostics [s]

SETTINGS = [
    Setting(
        'rate',
        1000.0,
        'periods per simulated second: torques in, joint_states out [Hz]',
        low=1.0,
        high=10000.0,
        fixed=True,
    ),
    Setting(
        'dt',
        0.001,
        'largest step of the integrator; a period is divided evenly [s]',
        low=1e-6,
        high=0.1,
        fixed=True,
    ),
    Setting('integrator', 'rk4', 'how a step is taken', choices=INTEGRATORS, fixed=True),
    Setting('real_time_factor', 1.0, 'simulated seconds per second', low=0.001, high=100.0),
    Setting('start_paused', False, 'wait for service step or pause', fixed=True),
    Setting(
        'scene_rate',
        30.0,
        'tf, markers and wrenches per simulated second [Hz]',
        low=0.1,
        high=1000.0,
    ),
    Setting(
        'initial_positions',
        [],
        'the pose at the start, joint=value; loops decide the rest',
        fixed=True,
    ),
    Setting('initial_velocities', [], 'velocities at the start, joint=value', fixed=True),
    Setting('torque_timeout', 0.1, 'older torques become zero; 0: never [s]', low=0.0, high=60.0),
    Setting('push_duration', 0.1, 'how long an external wrench acts [s]', low=0.0, high=3600.0),
    Setting(
        'connect_gap', CONNECT_GAP, 'largest gap that a connection closes [m]', low=0.0, high=10.0
    ),
    Setting(
        'connect_angle',
        CONNECT_ANGLE,
        'largest misalignment that it closes [rad]',
        low=0.0,
        high=3.15,
    ),
]


class SimulatorNode(ManagedNode):
    """See the top of this file."""

    def __init__(self, **options):
        self.driven = self._timer = None
        super().__init__('simulator_node', SETTINGS, changed=self._on_change, **options)
        self.paused = self.parameters.start_paused
        self.pace = Pace(1.0 / self.parameters.rate)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._messages = SimulationMessages(self)
        self.create_subscription(JointState, 'actuator_torques', self._on_torques, STREAM)
        self.create_subscription(WrenchStamped, 'external_wrench', self._on_wrench, COMMAND)
        for kind in ('connect', 'cut'):
            topic = f'contact/{kind}'
            self.create_subscription(
                String,
                topic,
                lambda message, kind=kind, topic=topic: self._take(
                    topic, lambda driven: driven.ask(kind, message.data)
                ),
                COMMAND,
            )
        self.create_service(SetBool, 'pause', self._on_pause)
        self.create_service(Trigger, 'step', self._on_step)
        self.create_service(Trigger, 'reset', self._on_reset)
        self.start()

    # --- life ------------------------------------------------------------------------------------
    def use_model(self, robot):
        """Take a new model, from its start."""
        period = 1.0 / self.parameters.rate
        self._steps = math.ceil(period / self.parameters.dt - 1e-9)
        self.driven = DrivenSimulation(robot, self.parameters, period / self._steps)
        self.driven.warm_up()
        if self.active:
            self._messages.show(self.driven)

    def begin(self):
        """Show the model and let time pass."""
        if self.driven:
            self._messages.show(self.driven)
        self._restart_timer()

    def end(self):
        """Let no time pass."""
        self.destroy_timer(self._timer)
        self._timer = None

    def forget(self):
        """Give up the model."""
        self.driven = None

    def _restart_timer(self):
        if self._timer:
            self.destroy_timer(self._timer)
        self._resume()
        # On steady time: ROS time is what this node makes.
        self._timer = self.create_timer(self.pace.wall_period, self._tick, clock=self._steady)
        self._last_report = self._steady.now()

    def _resume(self):
        self.pace.begin(
            self.driven.sim.time if self.driven else 0.0, self.parameters.real_time_factor
        )

    def _on_change(self, names):
        if 'real_time_factor' in names and self.active:
            self._restart_timer()

    # --- what comes in ---------------------------------------------------------------------------
    def _take(self, topic, hand_on):
        """Hand an input on to the simulation, or count why not."""
        if not (self.active and self.driven):
            return
        try:
            hand_on(self.driven)
        except ClosedChainError as error:
            self.rejected(topic, str(error))
            self.get_logger().warning(str(error), throttle_duration_sec=1.0)

    def _on_torques(self, message):
        self._take(
            'actuator_torques', lambda driven: driven.set_torques(message.name, message.effort)
        )

    def _on_wrench(self, message):
        force, torque = message.wrench.force, message.wrench.torque
        wrench = force.x, force.y, force.z, torque.x, torque.y, torque.z
        self._take('external_wrench', lambda driven: driven.push(message.header.frame_id, wrench))

    def _on_pause(self, request, response):
        self.paused = request.data
        self._resume()
        return self._answer(response, not (self.driven and self.driven.failure))

    def _on_step(self, request, response):
        possible = self._moves() and self.paused
        if possible:
            self._advance(1)
            self._messages.publish_scene(self.driven)
        return self._answer(response, possible, 'a step is for a simulation that is paused: ')

    def _on_reset(self, request, response):
        if self.active and self.driven:
            self.driven.reset()
            self._resume()
            self._messages.restructured(self.driven)
            self._messages.publish_scene(self.driven)
        return self._answer(response, self.active and self.driven)

    def _answer(self, response, success, otherwise=''):
        response.success = bool(success)
        response.message = ('' if success else otherwise) + self._report()[1]
        return response

    # --- what goes on ----------------------------------------------------------------------------
    def _moves(self):
        return self.active and self.driven is not None and not self.driven.failure

    def _tick(self):
        """Take the periods that are due, and report once in a while."""
        if self._moves() and not self.paused:
            before = self.driven.sim.time
            due = self.pace.due(before)
            if due:
                self._advance(due)
                share = self.parameters.scene_rate
                if int(self.driven.sim.time * share) != int(before * share):
                    self._messages.publish_scene(self.driven)
        now = self._steady.now()
        if (now - self._last_report).nanoseconds > REPORT_EVERY * 1e9:
            self._last_report = now
            self.diagnostics.publish(
                *self._report(), self._values(), self.driven.robot.name if self.driven else ''
            )
            if self.driven and self.paused:  # for those who come later
                self._messages.publish_state(self.driven)

    def _advance(self, periods):
        driven = self.driven
        driven.advance(periods * self._steps)
        records, driven.records = driven.records, []
        if records:
            self._messages.restructured(driven)
            self._messages.publish_events(records)
        else:
            self._messages.publish_state(driven)
        for record in records:
            if record['kind'] == 'refused':
                self.rejected(f'contact/{record["wanted"]}', record['reason'])
        if driven.failure:
            self.get_logger().error(f'{driven.failure} Time stands still until reset.')

    def _report(self):
        """Return level and message of the diagnostics."""
        driven = self.driven
        if not driven:
            return 'warning', self.source.problem if self.source else 'not configured'
        if driven.failure:
            return 'error', f'time stands still until reset: {driven.failure}'
        counts = ', '.join(f'{count} {what}' for what, count in driven.taken.items())
        when = f't = {driven.sim.time:.9g} s, taken: {counts}'
        if self.paused:
            return 'ok', f'paused at {when}'
        if driven.taken['torques'] and driven.are_stale():
            return 'warning', f'torques are stale and count as zero, {when}'
        return 'ok', f'running, {when}'

    def _values(self):
        if not self.driven:
            return self.rejected.values()
        sim = self.driven.sim
        energy = sim.energy()
        return {
            'simulated time [s]': sim.time,
            'real-time factor': self.pace.real_time_factor(sim.time),
            'overruns': self.pace.overruns,
            'loop error [m or rad]': sim.loop_error(),
            'kinetic energy [J]': energy.kinetic,
            'potential energy [J]': energy.potential,
            'energy balance [J]': energy.balance,
            **self.rejected.values(),
        }


def main(args=None):
    """Run the node; return the exit code."""
    return run(SimulatorNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
