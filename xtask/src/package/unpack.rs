//! Unpacking a `.crate`, and what lies in a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::{At, Result};
use crate::process::output;

/// Each file's path from the folder's root, with `/` between the parts, and its contents.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Unpacks an archive and makes the folder like it. Files that are the same keep their time of change, so
/// that cargo builds again only what has to be.
pub(super) fn unpack(archive: &Path, folder: &Path) -> Result<Files> {
    let fresh = folder.with_extension("new");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).at(&fresh)?;
    }
    fs::create_dir_all(&fresh).at(&fresh)?;
    let mut command = Command::new("tar");
    // All lies in one folder, of the package's name and version.
    command.arg("-xzf").arg(archive).arg("-C").arg(&fresh).arg("--strip-components=1");
    output(command)?;
    let wanted = files(&fresh)?;
    fs::remove_dir_all(&fresh).at(&fresh)?;
    write(folder, &wanted)?;
    Ok(wanted)
}

/// Makes the folder hold these files and no others.
fn write(folder: &Path, wanted: &Files) -> Result<()> {
    fs::create_dir_all(folder).at(folder)?;
    let there = files(folder)?;
    for name in there.keys().filter(|name| !wanted.contains_key(*name)) {
        let path = folder.join(name);
        fs::remove_file(&path).at(&path)?;
    }
    for (name, contents) in wanted.iter().filter(|(name, contents)| there.get(*name) != Some(contents)) {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).at(parent)?;
        fs::write(&path, contents).at(&path)?;
    }
    Ok(())
}

/// What lies in a folder and those under it.
pub(super) fn files(folder: &Path) -> Result<Files> {
    let mut found = Files::new();
    collect(folder, "", &mut found)?;
    Ok(found)
}

fn collect(folder: &Path, prefix: &str, found: &mut Files) -> Result<()> {
    for entry in fs::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), found)?;
        } else {
            found.insert(name, fs::read(&path).at(&path)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_becomes_like_the_archive_and_keeps_what_is_the_same() {
        let root = std::env::temp_dir().join(format!("xtask-unpack-{}", std::process::id()));
        let folder = root.join("folder");
        let packed = |pairs: &[(&str, &str)]| {
            let files: Files =
                pairs.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
            let from = root.join("from/p-0.1.0");
            write(&from, &files).unwrap();
            let mut command = Command::new("tar");
            command.arg("-czf").arg(root.join("p.crate")).arg("-C").arg(root.join("from")).arg("p-0.1.0");
            output(command).unwrap();
            assert_eq!(unpack(&root.join("p.crate"), &folder).unwrap(), files);
            assert_eq!(super::files(&folder).unwrap(), files);
        };
        let time = |name: &str| fs::metadata(folder.join(name)).unwrap().modified().unwrap();
        packed(&[("same", "1"), ("src/changed", "2"), ("src/gone", "3")]);
        let (same, changed) = (time("same"), time("src/changed"));
        std::thread::sleep(std::time::Duration::from_millis(20));
        packed(&[("same", "1"), ("src/changed", "4"), ("new", "5")]);
        assert_eq!(time("same"), same);
        assert_ne!(time("src/changed"), changed);
        fs::remove_dir_all(root).unwrap();
    }
}
