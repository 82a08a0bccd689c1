//! Short names of control groups: paths of containers are longer than a line.

/// Digits of a container id that are shown, as `docker ps` does.
const SHOWN: usize = 12;
/// Minimum number of hexadecimal digits of an id.
const ID: usize = 32;
/// Longer paths are shortened to their last part.
const LONG: usize = 40;

/// `/system.slice/nginx.service` unchanged; of `/kubepods.slice/…/cri-containerd-4d5c0f1ab1f9….scope` the last part with a shortened id.
pub(crate) fn control_group_name(path: &str) -> String {
    let short = with_short_ids(path);
    match short.rsplit_once('/') {
        Some((_, last)) if short.chars().count() > LONG && !last.is_empty() => format!("…/{last}"),
        _ => short,
    }
}

fn with_short_ids(path: &str) -> String {
    let is_hex = |letter: char| letter.is_ascii_hexdigit();
    let (mut short, mut rest) = (String::with_capacity(path.len()), path);
    while let Some(start) = rest.find(is_hex) {
        let (before, tail) = rest.split_at(start);
        let end = tail.find(|letter| !is_hex(letter)).unwrap_or(tail.len());
        let (id, after) = tail.split_at(end);
        short.push_str(before);
        short.push_str(if id.len() >= ID { &id[..SHOWN] } else { id });
        rest = after;
    }
    short + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_told_by_the_beginning_of_its_id() {
        let id = "4d5c0f1ab1f9880f1e2d3c4b5a69781f2e3d4c5b6a79880f1e2d3c4b5a69780b";
        let pod = "0b1c2d3e_4f50_6172_8394_a5b6c7d8e9f0";
        for (path, name) in [
            ("/system.slice/nginx.service".to_owned(), "/system.slice/nginx.service"),
            (format!("/docker/{id}"), "/docker/4d5c0f1ab1f9"),
            (
                format!(
                    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod}.slice/cri-containerd-{id}.scope"
                ),
                "…/cri-containerd-4d5c0f1ab1f9.scope",
            ),
            ("/".to_owned(), "/"),
            (String::new(), ""),
            (
                "/a-long-name-of-a-group-that-ends-with-a-slash/".to_owned(),
                "/a-long-name-of-a-group-that-ends-with-a-slash/",
            ),
        ] {
            assert_eq!(control_group_name(&path), name);
        }
    }
}
