#!/usr/bin/env bash
# Put a Prometheus 3 beside the build, as the reference for answers: fetch_prometheus3.sh DIR
#
# Debian 12 has 2.42, which closes ranges on the left; a newer suite of the same mirror has 3.x, and its binary runs here as it is
# unpacked. The mirror is read off the machine's own apt configuration; nothing is installed and the system's own lists stay
# as they are. Prints the path of the binary; exits 1 with a sentence when it cannot be had.
set -euo pipefail
dir=${1:?usage: fetch_prometheus3.sh DIR}
if [ -x "$dir/usr/bin/prometheus" ]; then
    echo "$dir/usr/bin/prometheus"
    exit 0
fi
mirror=$(apt-cache policy 2>/dev/null | awk '/ bookworm\/main / && !/security/ {print $2; exit}')
[ -n "$mirror" ] || { echo "no Debian mirror in apt's configuration" >&2; exit 1; }
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$dir" "$state"/{lists/partial,cache/archives/partial,parts}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
apt_private() {
    apt-get -qq -o Dir::Etc::sourcelist="$state/list" -o Dir::Etc::sourceparts="$state/parts" \
        -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root "$@"
}
for suite in sid testing; do
    echo "deb [signed-by=$keyring] $mirror $suite main" >"$state/list"
    apt_private update >&2 || continue
    (cd "$state" && apt_private download prometheus >&2) || continue
    package=$(ls "$state"/prometheus_*.deb)
    case $(basename "$package") in
    prometheus_[3-9]*) ;;
    *) rm -f "$package"; continue ;;
    esac
    dpkg-deb -x "$package" "$dir"
    echo "$dir/usr/bin/prometheus"
    exit 0
done
echo "no Prometheus 3 in sid or testing of the configured Debian mirror" >&2
exit 1
