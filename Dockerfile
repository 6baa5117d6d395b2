# A ROS 2 workspace with this package, built and tested to start.
#   docker build -t closed_chain_dynamics .
#   docker run --rm -it --network host closed_chain_dynamics closed-chain up swing --demo
FROM ros:jazzy-ros-base

ENV PIP_BREAK_SYSTEM_PACKAGES=1

RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ make python3-pip python3-venv \
    && rm -rf /var/lib/apt/lists/*

# Dependencies first: they change less often than the code.
WORKDIR /workspace
COPY package.xml src/closed_chain_dynamics/package.xml
RUN apt-get update && rosdep update --rosdistro jazzy \
    && rosdep install --from-paths src --ignore-src --rosdistro jazzy -y \
        --dependency-types exec --skip-keys python3-numba \
    && rm -rf /var/lib/apt/lists/*
# What rosdep has no key for, and a Numba that is new enough. NumPy stays below 2: the messages of
# the distribution were compiled for NumPy 1.
RUN pip install --no-cache-dir 'numba>=0.62' 'numpy<2' 'viser>=1.1,<2' 'rosbags>=0.10' 'casadi>=3.7' 'mujoco>=3.3'

COPY . src/closed_chain_dynamics
RUN . /opt/ros/jazzy/setup.sh \
    && colcon build --packages-select closed_chain_dynamics \
    && . install/setup.sh \
    && python3 -c 'import closed_chain_dynamics as ccd; ccd.warm_up()'

# Programs of a colcon package are not on the path: this puts them there.
ENV PATH="/workspace/install/closed_chain_dynamics/lib/closed_chain_dynamics:${PATH}"
RUN echo 'source /workspace/install/setup.bash' >> /etc/bash.bashrc \
    && sed -i 's|^exec|source /workspace/install/setup.bash --\nexec|' /ros_entrypoint.sh
CMD ["bash"]
