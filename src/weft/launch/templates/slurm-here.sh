set -e
ip link set lo up
ip addr add 10.78.0.1/32 dev lo
munged --force --key-file=$D/munge.key --socket=$D/munge.sock --pid-file=$D/munged.pid --log-file=$D/log/munged.log     --seed-file=$D/munge.seed
slurmctld -c
for node in {nodes}; do slurmd -N $node; done
touch $D/ready
cat > /dev/null
