# How late `sleep` returns to a shell. The start of the program `sleep` is part of it, as it is for a script.
# The protocol is described in docs/probes.md.
#
# Bash's only fine clock is CLOCK_REALTIME, in microseconds; howlate converts it.

LC_ALL=C # a point in $EPOCHREALTIME, whatever the language
most=4096 # readings kept before they are printed

length_ns=$1 count=$2
printf -v seconds '%d.%09d' $((length_ns / 1000000000)) $((length_ns % 1000000000))
version=$(sleep --version 2>/dev/null)
echo "howlate-probe 1 realtime bash $BASH_VERSION: ${version%%$'\n'*}"

readings=()
next_print=$((${EPOCHREALTIME/./} + 1000000))
for ((left = count; left > 0; left--)); do
    start=$EPOCHREALTIME
    sleep "$seconds"
    end=$EPOCHREALTIME
    readings+=("${start/./}000 ${end/./}000")
    if ((${#readings[@]} == most || ${end/./} >= next_print || left == 1)); then
        printf '%s\n' "${readings[@]}"
        readings=()
        next_print=$((${EPOCHREALTIME/./} + 1000000))
    fi
done
echo end
