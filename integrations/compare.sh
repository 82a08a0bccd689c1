#!/usr/bin/env bash
# Measures a probe of the base and one of the head in turns, compares them, and says so where CI shows it.
#
# GitHub's action (action.yml) and GitLab's template (gitlab/howlate.yml) call it; it knows of the two only where they take
# a text. Status: 0 not worse, or inconclusive (with a warning); 1 worse; 2 it could not be measured.
set -euo pipefail

fail() {
    echo "howlate: $1" >&2
    # As GitHub wants it: a line is a command there.
    local text=${1//'%'/%25}
    text=${text//$'\r'/%0D}
    [ -z "${GITHUB_ACTIONS:-}" ] || echo "::error title=howlate::${text//$'\n'/%0A}"
    exit 2
}

: "${HOWLATE_PROBE:?name the probe, an executable file below the checkout}"
: "${HOWLATE_LENGTH:=1ms}" "${HOWLATE_ROUNDS:=20}" "${HOWLATE_SAMPLES:=200}" "${HOWLATE_MARGIN:=5%}"
: "${HOWLATE_RECORDING:=howlate.jsonl}"
for number in "$HOWLATE_ROUNDS" "$HOWLATE_SAMPLES"; do
    [[ $number =~ ^[1-9][0-9]{0,6}$ ]] || fail "\`$number\` is no number of rounds or samples"
done

[[ $HOWLATE_MARGIN =~ ^[0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|%)$ ]] || fail "\`$HOWLATE_MARGIN\` is no margin; write a length or a share, such as 5us or 5%"

# The program: the one that was named, one on the path, or one built from its source.
if [ -z "${HOWLATE:-}" ]; then
    if HOWLATE=$(command -v howlate); then :
    elif [ -n "${HOWLATE_SOURCE:-}" ] && command -v cargo >/dev/null; then
        cargo build --release --locked --manifest-path "$HOWLATE_SOURCE/Cargo.toml" --package howlate --bin howlate
        HOWLATE=${CARGO_TARGET_DIR:-$HOWLATE_SOURCE/target}/release/howlate
    else
        fail "there is no howlate on the path, and no cargo to build one; give its path"
    fi
fi
[ -x "$HOWLATE" ] || fail "$HOWLATE cannot be run"
HOWLATE=$(realpath "$HOWLATE")

head=$(git rev-parse --verify --quiet HEAD) || fail "the working folder is no checkout of git"
base=$(git rev-parse --verify --quiet "${HOWLATE_BASE:-HEAD^}^{commit}") ||
    fail "there is no commit ${HOWLATE_BASE:-HEAD^}; check out with history (actions/checkout: fetch-depth: 0)"
recording=$(realpath "$HOWLATE_RECORDING")
[ ! -e "$recording" ] || fail "$recording exists already"

# Each side in a folder of its own, as neither may leave anything for the other.
checkout=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"; git -C "$checkout" worktree prune' EXIT
for side in base head; do
    git worktree add --quiet --detach "$work/$side" "${!side}"
    if [ -n "${HOWLATE_BUILD:-}" ]; then
        (cd "$work/$side" && bash -euo pipefail -c "$HOWLATE_BUILD") || fail "the $side (${!side}) cannot be built"
    fi
    [ -x "$work/$side/$HOWLATE_PROBE" ] || fail "the $side (${!side}) has no executable file $HOWLATE_PROBE"
    # Its name is that of the condition in the result.
    ln -s "$work/$side/$HOWLATE_PROBE" "$work/$side-probe"
done

cd "$work"
# Options are words, as they would be typed.
read -r -a options <<<"${HOWLATE_OPTIONS:-}"
status=0
"$HOWLATE" sleep --for "$HOWLATE_LENGTH" --call ./base-probe,./head-probe --rounds "$HOWLATE_ROUNDS" \
    --samples "$((HOWLATE_ROUNDS * HOWLATE_SAMPLES))" "${options[@]}" --quiet --out "$recording" >measured.txt || status=$?
cat measured.txt
# 3: something was not measured as asked, which the comparison weighs as well.
case $status in 0 | 3) ;; *) fail "measuring ended with status $status" ;; esac

compare() {
    "$HOWLATE" compare "$recording" --by mechanism --base ./base-probe --margin "$HOWLATE_MARGIN" --format "$1"
}
status=0
compare md >verdict.md || status=$?
compare json >verdict.json || true
[ -s verdict.md ] || fail "the two cannot be compared (status $status)"
grep -q '"p_corrected":' verdict.json || fail "nothing was measured that could be compared; what the probes said is above"
verdict=$(sed -n 's/^  "verdict": "\(.*\)",$/\1/p' verdict.json)

cat verdict.md
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat verdict.md >>"$GITHUB_STEP_SUMMARY"
[ -z "${GITHUB_OUTPUT:-}" ] || printf 'verdict=%s\nrecording=%s\n' "$verdict" "$recording" >>"$GITHUB_OUTPUT"
# For merge requests of GitLab, where a later job or a script posts it.
[ -z "${HOWLATE_MARKDOWN:-}" ] || cp verdict.md "$checkout/$HOWLATE_MARKDOWN"
[ -z "${HOWLATE_JUNIT:-}" ] || compare junit >"$checkout/$HOWLATE_JUNIT" || true

case $status in
    0) ;;
    1) [ -z "${GITHUB_ACTIONS:-}" ] || echo "::error title=howlate::Wake-ups became later"; exit 1 ;;
    3)
        # Neither red nor a pass: nothing is known.
        echo "howlate: inconclusive; more rounds may settle it" >&2
        [ -z "${GITHUB_ACTIONS:-}" ] || echo "::warning title=howlate::Inconclusive: neither a difference nor its absence was shown"
        ;;
    *) fail "the two cannot be compared (status $status)" ;;
esac
