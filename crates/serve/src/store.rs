//! The files that are served: a folder, or one file.

use percent_encoding::percent_decode_str;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    is_file: bool,
    /// Canonical path of `root`, which symbolic links may not leave; `None` if they may.
    bounds: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Found {
    pub file: Arc<File>,
    pub len: u64,
    /// For Last-Modified: never before 1970, which HTTP's dates cannot say, nor later than now (RFC 9110 §8.8.2.1).
    pub modified: SystemTime,
    /// Strong entity tag, of the date that the file really has and of its length (RFC 9110 §8.8.3).
    pub tag: String,
    pub media_type: String,
}

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No such file.
    NotFound,
    /// A folder with an `index.html`, named without the slash behind which its links count.
    Folder,
    /// It may not be read, or its name climbs out.
    Forbidden,
    /// It may be there, but cannot be opened now: no descriptor is left, or no memory.
    Unavailable,
}

impl Store {
    /// Serve `root`. Errors: it cannot be read.
    pub fn open(root: &Path) -> io::Result<Store> {
        let is_file = root.metadata()?.is_file();
        if is_file {
            File::open(root)?;
        } else {
            root.read_dir()?;
        }
        Ok(Store { root: root.to_path_buf(), is_file, bounds: Some(root.canonicalize()?) })
    }

    /// Serves what lies behind any link, where `is_wanted`.
    pub fn following_links(mut self, is_wanted: bool) -> Store {
        self.bounds = self.bounds.filter(|_| !is_wanted);
        self
    }

    /// The file of a request's target: `/a%20b.mp4?query`. A folder, with its slash, stands for its `index.html`; a single file is
    /// served at its own name and at `/`. Behind a link that leads out of the folder there is nothing, and no name climbs out by `..`.
    pub fn find(&self, target: &str) -> Result<Found, Missing> {
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let path = percent_decode_str(path).decode_utf8().map_err(|_| Missing::NotFound)?;
        let path = path.strip_prefix('/').ok_or(Missing::NotFound)?;
        if path.contains('\0') || path.split('/').any(|part| part == "..") {
            return Err(Missing::Forbidden);
        }
        let (place, is_folder) = self.place(path)?;
        let real = place.canonicalize().map_err(refused)?;
        if self.bounds.as_ref().is_some_and(|bounds| !real.starts_with(bounds)) {
            return Err(Missing::NotFound);
        }
        let found = open(&real, media_type(&place))?;
        let is_short = is_folder && !path.is_empty() && !path.ends_with('/');
        if is_short { Err(Missing::Folder) } else { Ok(found) }
    }

    /// The file, and whether it stands for its folder.
    fn place(&self, path: &str) -> Result<(PathBuf, bool), Missing> {
        if self.is_file {
            let is_it = path.is_empty() || self.root.file_name().is_some_and(|name| name == path);
            return if is_it { Ok((self.root.clone(), false)) } else { Err(Missing::NotFound) };
        }
        // A path that begins with another slash would replace the root.
        let place = self.root.join(path.trim_start_matches('/'));
        Ok(if place.is_dir() { (place.join("index.html"), true) } else { (place, false) })
    }
}

fn refused(error: io::Error) -> Missing {
    match Errno::from_io_error(&error) {
        Some(Errno::ACCESS | Errno::PERM) => Missing::Forbidden,
        Some(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::LOOP) => Missing::NotFound,
        _ => Missing::Unavailable,
    }
}

fn open(place: &Path, media_type: String) -> Result<Found, Missing> {
    // A pipe would hold up everybody: look before opening.
    let about = place.metadata().map_err(refused)?;
    if !about.is_file() {
        return Err(Missing::NotFound);
    }
    let file = File::open(place).map_err(refused)?;
    let about = file.metadata().map_err(refused)?;
    let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    Ok(Found {
        file: Arc::new(file),
        len: about.len(),
        modified: modified.min(SystemTime::now()).max(SystemTime::UNIX_EPOCH),
        tag: format!("\"{:x}-{:x}\"", nanos(modified), about.len()),
        media_type,
    })
}

/// Since 1970, or below zero before it.
fn nanos(time: SystemTime) -> i128 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    }
}

fn media_type(place: &Path) -> String {
    // Players need these; the list of the crate knows them otherwise, or not.
    match place.extension().and_then(|extension| extension.to_str()) {
        Some("mpd") => "application/dash+xml".into(),
        Some("m3u8") => "application/vnd.apple.mpegurl".into(),
        Some("m4s") => "video/iso.segment".into(),
        _ => mime_guess::from_path(place).first_or_octet_stream().to_string(),
    }
}

#[cfg(test)]
mod tests;
