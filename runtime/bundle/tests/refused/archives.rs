//! Archives whose headers disagree, that hold what no bundle holds, or lie about what they do.

use std::io::{Cursor, Read, Write};

use tilewright_bundle::{Bundle, Error};
use tilewright_fixture::{Zip, ZipEntry};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::Case;
use crate::sealed::files;

type Change = fn(&mut Zip);

const FILE: &str = "ptx/copy_a@x-1.ptx";

fn file(zip: &mut Zip) -> &mut ZipEntry {
    zip.entry(FILE)
}

/// Another file, which says in both places what `change` makes it.
fn more(zip: &mut Zip, change: impl FnOnce(&mut ZipEntry)) {
    let mut entry = ZipEntry::stored("more", b"more");
    change(&mut entry);
    zip.entries.push(entry);
}

fn named(zip: &mut Zip, name: &[u8]) {
    more(zip, |entry| entry.say(|said| said.name = name.to_vec()));
}

fn extra(zip: &mut Zip, field: &[u8]) {
    more(zip, |entry| entry.say(|said| said.extra = field.to_vec()));
}

const PLACES: &[(&str, Change)] = &[
    ("bytes before the first entry", |zip| {
        zip.entries[0].gap = b"#!/bin/sh\n".to_vec();
    }),
    ("a comment", |zip| zip.comment = b"hello".to_vec()),
    ("another end behind the end", |zip| {
        zip.after = Zip::default().bytes()
    }),
    ("an end within the comment", |zip| {
        zip.comment = Zip::default().bytes()
    }),
    ("a part of several", |zip| zip.disk = 1),
    ("fewer entries than are there", |zip| {
        zip.count = Some(zip.entries.len() as u16 - 1);
    }),
    ("more entries than are there", |zip| {
        zip.count = Some(60_000)
    }),
    ("as many entries as zip64 has", |zip| {
        zip.count = Some(u16::MAX)
    }),
    ("a directory at another place", |zip| {
        zip.directory_at = Some(4)
    }),
    ("two entries at one place", |zip| {
        more(zip, |entry| entry.offset = Some(0));
    }),
    ("an entry at the directory", |zip| {
        more(zip, |entry| entry.offset = Some(1 << 30));
    }),
    ("data that reach into the next entry", |zip| {
        file(zip).say(|said| {
            said.compressed += 9;
            said.size += 9;
        });
    }),
    ("data that reach into the directory", |zip| {
        let at = zip.entries.len() - 1;
        zip.entries[at].say(|said| {
            said.compressed = 1 << 24;
            said.size = 1 << 24;
        });
    }),
];

const ENTRIES: &[(&str, Change)] = &[
    ("a name that leads out", |zip| {
        named(zip, b"ptx/../../../etc/passwd")
    }),
    ("a name from the root", |zip| named(zip, b"/etc/passwd")),
    ("a name of another system", |zip| {
        named(zip, b"C:\\autoexec.bat")
    }),
    ("a name that is no text", |zip| named(zip, b"\xff\xfe")),
    ("a name with a NUL", |zip| {
        named(zip, b"manifest.json\0.txt")
    }),
    ("no name", |zip| named(zip, b"")),
    ("a name of many bytes", |zip| named(zip, &[b'a'; 999])),
    ("a hidden file", |zip| named(zip, b".git/config")),
    ("a name twice", |zip| named(zip, FILE.as_bytes())),
    ("a name twice but for case", |zip| {
        named(zip, b"Manifest.JSON")
    }),
    ("a name that is a folder's too", |zip| {
        named(zip, b"manifest.json/")
    }),
    ("another name in a field", |zip| {
        extra(zip, b"\x75\x70\x01\x00\x01")
    }),
    ("a link", |zip| more(zip, |entry| entry.mode = 0o120_777)),
    ("a device", |zip| more(zip, |entry| entry.mode = 0o060_666)),
    ("a folder that is called a file", |zip| {
        more(zip, |entry| entry.mode = 0o040_755);
    }),
    ("an encrypted entry", |zip| {
        file(zip).say(|said| said.flags = 1);
    }),
    ("sizes as large as zip64 has", |zip| {
        more(zip, |entry| entry.say(|said| said.size = u32::MAX));
    }),
    ("extra fields that are cut", |zip| {
        extra(zip, b"\x55\x54\x09\x00\x01")
    }),
    ("an unknown method", |zip| {
        file(zip).say(|said| said.method = 93)
    }),
    ("a header of another name", |zip| {
        file(zip).local.name = b"ptx/copy_a@x-2.ptx".to_vec();
    }),
    ("a header of another method", |zip| {
        file(zip).local.method = 8
    }),
    ("a header of another size", |zip| file(zip).local.size = 9),
    ("a header of another CRC-32", |zip| {
        file(zip).local.crc32 ^= 1
    }),
    ("several at once", |zip| {
        named(zip, b"../a");
        more(zip, |entry| entry.mode = 0o120_777);
    }),
];

/// What is wrong with the structure, before anything is inflated.
pub fn cases() -> Vec<Case> {
    let case = |(what, change): &(&str, Change)| {
        let mut zip = Zip::of(&files());
        change(&mut zip);
        let refused = Bundle::from_zip(&zip.bytes()).unwrap_err();
        assert!(
            matches!(refused, Error::Archive { .. }),
            "{what}: {refused}"
        );
        ((*what).to_owned(), refused.to_string())
    };
    let bytes = [
        ("an empty file", Vec::new()),
        ("a file of zeros", vec![0; 4096]),
        ("an archive that is cut", {
            let mut bytes = Zip::of(&files()).bytes();
            bytes.truncate(1000);
            bytes
        }),
    ];
    let bytes = bytes.map(|(what, bytes)| {
        let refused = Bundle::from_zip(&bytes).unwrap_err();
        (what.to_owned(), refused.to_string())
    });
    let changed = PLACES.iter().chain(ENTRIES).map(case);
    bytes.into_iter().chain(changed).collect()
}

/// The bytes that lie in an archive for this content.
fn deflated(content: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("a", SimpleFileOptions::default()).unwrap();
    zip.write_all(content).unwrap();
    let mut zip = ZipArchive::new(zip.finish().unwrap()).unwrap();
    let mut bytes = Vec::new();
    let mut file = zip.by_index_raw(0).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Puts a deflated file in the place of one of the same name, and changes it.
fn packed(zip: &mut Zip, name: &str, content: &[u8], change: impl FnOnce(&mut ZipEntry)) {
    let entry = zip.entry(name);
    *entry = ZipEntry::of(name, content, 8, &deflated(content));
    change(entry);
}

const CONTENTS: &[(&str, Change)] = &[
    ("an archive of nothing", |zip| *zip = Zip::default()),
    ("two sizes of a stored entry", |zip| {
        file(zip).say(|said| said.size += 1)
    }),
    ("no manifest", |zip| {
        zip.entries
            .retain(|entry| entry.central.name != b"manifest.json");
    }),
    ("the folder was zipped", |zip| {
        for entry in &mut zip.entries {
            entry.say(|said| said.name.splice(..0, *b"kernels/").for_each(drop));
        }
    }),
    ("a file is missing", |zip| {
        zip.entries
            .retain(|entry| entry.central.name != FILE.as_bytes());
    }),
    ("a byte of the data is changed", |zip| {
        file(zip).data[3] ^= 1
    }),
    ("another CRC-32", |zip| {
        file(zip).say(|said| said.crc32 ^= 1)
    }),
    ("a file of 64 megabytes that says so", |zip| {
        let size = 64 << 20;
        packed(zip, FILE, &[0; 9], |entry| {
            entry.say(|said| said.size = size)
        });
    }),
    (
        "a manifest of 32 megabytes that says it has 4000 bytes",
        |zip| {
            let zeros = vec![b' '; 1 << 25];
            packed(zip, "manifest.json", &zeros, |entry| {
                entry.say(|said| said.size = 4000);
            });
        },
    ),
    ("a manifest of a gigabyte that says so", |zip| {
        packed(zip, "manifest.json", b"{}", |entry| {
            entry.say(|said| said.size = 1 << 30);
        });
    }),
    ("many files that say four gigabytes", |zip| {
        for at in 0..40 {
            let mut entry = ZipEntry::of(&format!("zeros{at}"), b"", 8, b"");
            entry.say(|said| said.size = 128 << 20);
            zip.entries.push(entry);
        }
    }),
    ("data that inflate to less", |zip| {
        let content = files()[FILE].clone();
        packed(zip, FILE, &content, |entry| {
            entry.data = deflated(b"short");
            let bytes = entry.data.len() as u32;
            entry.say(|said| said.compressed = bytes);
        });
    }),
    ("data that do not inflate", |zip| {
        let content = files()[FILE].clone();
        packed(zip, FILE, &content, |entry| entry.data.fill(0xff));
    }),
    ("another file of the same length", |zip| {
        let content: Vec<u8> = files()[FILE].iter().map(|byte| byte ^ 1).collect();
        packed(zip, FILE, &content, |_| ());
    }),
];

/// What is wrong with what is inside.
pub fn contents() -> Vec<Case> {
    let case = |(what, change): &(&str, Change)| {
        let mut zip = Zip::of(&files());
        change(&mut zip);
        let refused = Bundle::from_zip(&zip.bytes()).unwrap_err();
        ((*what).to_owned(), refused.to_string())
    };
    CONTENTS.iter().map(case).collect()
}
