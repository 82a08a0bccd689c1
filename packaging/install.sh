#!/bin/sh
# Installs what belongs to a package beside the program: PROGRAM is asked for its manual pages and completions, FOLDER is
# `/usr` of the package. Units have to be where it says; another place for programs is for the recipe to put in.
set -eu

program=${1:?usage: install.sh PROGRAM FOLDER [ZSH]}
folder=${2:?usage: install.sh PROGRAM FOLDER [ZSH]}
zsh=${3:-site-functions}
root=$(dirname "$0")/..

for unit in "$root"/packaging/systemd/*.service "$root"/packaging/systemd/*.timer; do
    install -D -m644 "$unit" "$folder/lib/systemd/system/${unit##*/}"
done
# The user that the recorder runs as.
for user in "$root"/packaging/systemd/*.conf; do
    install -D -m644 "$user" "$folder/lib/sysusers.d/${user##*/}"
done

# The commands of a command, which have pages of their own; their names stand behind two spaces.
commands() {
    sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\)  .*/\1/p' | grep -vx help || true
}
pages=$folder/share/man/man1
install -d "$pages"
"$program" man >"$pages/howlate.1"
for command in $("$program" help --all | commands); do
    "$program" man "$command" >"$pages/howlate-$command.1"
    for part in $("$program" "$command" --help | commands); do
        "$program" man "$command-$part" >"$pages/howlate-$command-$part.1"
    done
done

install -d "$folder/share/bash-completion/completions" "$folder/share/zsh/$zsh" "$folder/share/fish/vendor_completions.d"
"$program" completions bash >"$folder/share/bash-completion/completions/howlate"
"$program" completions zsh >"$folder/share/zsh/$zsh/_howlate"
"$program" completions fish >"$folder/share/fish/vendor_completions.d/howlate.fish"
