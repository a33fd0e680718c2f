//! What a folder gives back, and what it does not.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::*;

fn key(ptx: &str) -> Key {
    Key {
        ptx: Sha256Hex::of(ptx.as_bytes()),
        driver: 13_000,
        sm: 90,
    }
}

fn cache() -> (tempfile::TempDir, PtxCache) {
    let home = tempfile::tempdir().unwrap();
    let cache = PtxCache::open(&home.path().join("a/b")).unwrap();
    (home, cache)
}

#[test]
fn what_was_kept_comes_back_for_its_key_alone() {
    let (_home, cache) = cache();
    assert_eq!(cache.get(&key("one")), None);
    cache.put(&key("one"), b"code");
    cache.put(&key("one"), b"newer code");
    assert_eq!(cache.get(&key("one")).unwrap(), b"newer code");
    for other in [
        key("two"),
        Key {
            driver: 13_010,
            ..key("one")
        },
        Key {
            sm: 100,
            ..key("one")
        },
    ] {
        assert_eq!(cache.get(&other), None);
    }
    assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 1);
}

#[test]
fn damaged_entries_are_none_and_are_replaced() {
    let (_home, cache) = cache();
    let path = cache.folder.join(key("one").file_name());
    cache.put(&key("one"), b"some machine code");
    let whole = fs::read(&path).unwrap();
    let mut damaged: Vec<Vec<u8>> = (0..whole.len()).map(|at| whole[..at].to_vec()).collect();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        damaged.push(flipped);
    }
    damaged.push([whole.as_slice(), b"more"].concat());
    for content in damaged {
        fs::write(&path, &content).unwrap();
        assert_eq!(cache.get(&key("one")), None, "{content:?}");
    }
    cache.put(&key("one"), b"some machine code");
    assert_eq!(fs::read(&path).unwrap(), whole);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(cache.get(&key("one")), None);
}

#[test]
fn the_oldest_entries_make_room() {
    let (_home, cache) = cache();
    let cache = cache.with_limit(3 * (HEAD_BYTES as u64 + 100));
    let old = |name: &str, seconds: u64| {
        let file = fs::File::open(cache.folder.join(key(name).file_name())).unwrap();
        let then = SystemTime::now() - Duration::from_secs(seconds);
        file.set_modified(then).unwrap();
    };
    for (name, seconds) in [("one", 30), ("two", 20), ("three", 10)] {
        cache.put(&key(name), &[7; 100]);
        old(name, seconds);
    }
    let is_there = |name: &str| cache.folder.join(key(name).file_name()).exists();
    // What is used is young again.
    assert!(cache.get(&key("one")).is_some());
    cache.put(&key("four"), &[7; 100]);
    assert_eq!(
        ["one", "two", "three", "four"].map(is_there),
        [true, false, true, true]
    );
    // What others keep there counts for nothing and stays, whatever its name ends in.
    let others = ["film.part", "theirs.cubin"].map(|name| cache.folder.join(name));
    others
        .iter()
        .for_each(|path| fs::write(path, [7; 5000]).unwrap());
    // One that has no room at all is used by this process and kept by none.
    let cache = cache.with_limit(10);
    cache.put(&key("five"), &[7; 100]);
    let is_there = |name: &str| cache.folder.join(key(name).file_name()).exists();
    assert_eq!(["one", "three", "four"].map(is_there), [false; 3]);
    assert!(others.iter().all(|path| path.exists()));
}

#[cfg(unix)]
#[test]
fn folders_of_others_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("open");
    PtxCache::open(&folder).unwrap();
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let text = PtxCache::open(&folder).unwrap_err().to_string();
    assert!(
        text.contains("mode 777") && text.contains("chmod 700"),
        "{text}"
    );
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(PtxCache::open(&file), Err(Error::PtxCache { .. })));
}
