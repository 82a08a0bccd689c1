#!/usr/bin/env bash
# Writes Debian's source package of this commit into a folder: FOLDER/howlate_VERSION-1.dsc and its two tarballs.
set -euo pipefail

out=$(mkdir -p "${1:?usage: source.sh FOLDER}" && realpath "$1")
root=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/howlate-$version

git -C "$root" archive --prefix="howlate-$version/" HEAD | tar -C "$work" -x
# Without the crates it would have to fetch them while it is built.
if [ -z "${WITHOUT_CRATES:-}" ]; then
    mkdir -p "$tree/.cargo"
    (cd "$tree" && cargo vendor --locked --quiet --versioned-dirs vendor >>.cargo/config.toml)
fi
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git -C "$root" log -1 --format=%ct)" \
    -c "howlate-$version" | xz -T1 -6 >"$out/howlate_$version.orig.tar.xz"
mkdir "$tree/debian"
cp "$root"/packaging/debian/{control,changelog,copyright,rules} "$tree/debian/"
mkdir "$tree/debian/source"
echo '3.0 (quilt)' >"$tree/debian/source/format"
ln -s "$out/howlate_$version.orig.tar.xz" "$work/"
(cd "$work" && dpkg-source --build "howlate-$version")
mv "$work"/*.dsc "$work"/*.debian.tar.* "$out/"
