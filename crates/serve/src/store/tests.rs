use super::*;

/// A link within the folder is as good as a file; one that leads out is nothing, whatever it is named, until it is asked for.
#[test]
fn links_lead_nowhere_outside() {
    let folder = std::env::temp_dir().join(format!("playpath-links-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("www/clips")).unwrap();
    std::fs::create_dir_all(folder.join("www-old")).unwrap();
    std::fs::write(folder.join("secret"), "s").unwrap();
    std::fs::write(folder.join("www-old/index.html"), "s").unwrap();
    std::fs::write(folder.join("www/clips/clip.bin"), "12345").unwrap();
    let link = |to: &Path, at: &str| std::os::unix::fs::symlink(to, folder.join("www").join(at)).unwrap();
    link(Path::new("clips/clip.bin"), "clip.mpd");
    link(&folder.join("www/clips"), "whole");
    link(&folder.join("secret"), "stolen");
    link(Path::new("../../secret"), "clips/stolen");
    link(&folder, "up");
    link(&folder.join("www-old"), "old");
    link(&folder.join("gone"), "broken");
    let store = Store::open(&folder.join("www")).unwrap();
    assert_eq!(store.find("/clip.mpd").unwrap().media_type, "application/dash+xml");
    assert_eq!(store.find("/whole/clip.bin").unwrap().len, 5);
    let outside =
        ["/stolen", "/clips/stolen", "/up/secret", "/up/www/clips/stolen", "/old/", "/old/index.html", "/broken"];
    for target in outside {
        assert_eq!(store.find(target).err(), Some(Missing::NotFound), "{target}");
    }
    let store = store.following_links(true);
    for target in &outside[..6] {
        assert!(store.find(target).is_ok(), "{target}");
    }
    assert_eq!(store.find("/up/../secret").err(), Some(Missing::Forbidden));
    link(&folder.join("secret"), "alone");
    let store = Store::open(&folder.join("www/alone")).unwrap();
    assert!(store.find("/alone").is_ok(), "who names the link wants what is behind it");
    std::fs::remove_dir_all(folder).unwrap();
}

/// RFC 9110 §15.6.4: a client that is told 404 would not ask again when there are descriptors.
#[test]
fn a_file_that_cannot_be_opened_now_is_not_missing() {
    for (errno, why) in [
        (Errno::MFILE, Missing::Unavailable),
        (Errno::NFILE, Missing::Unavailable),
        (Errno::IO, Missing::Unavailable),
        (Errno::NOENT, Missing::NotFound),
        (Errno::NAMETOOLONG, Missing::NotFound),
        (Errno::ACCESS, Missing::Forbidden),
    ] {
        assert_eq!(refused(errno.into()), why, "{errno}");
    }
}

#[test]
fn a_folder_is_served_and_nothing_beside_it() {
    let folder = std::env::temp_dir().join(format!("playpath-store-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("www/a b")).unwrap();
    std::fs::write(folder.join("secret"), "s").unwrap();
    std::fs::write(folder.join("www/a b/clip.mpd"), "12345").unwrap();
    std::fs::write(folder.join("www/index.html"), "<html>").unwrap();
    let store = Store::open(&folder.join("www")).unwrap();
    let found = store.find("/a%20b/clip.mpd?CMCD=bl%3D1").unwrap();
    assert_eq!((found.len, found.media_type.as_str()), (5, "application/dash+xml"));
    assert_eq!(store.find("/").unwrap().media_type, "text/html");
    for (target, why) in [
        ("/../secret", Missing::Forbidden),
        ("/%2e%2e/secret", Missing::Forbidden),
        ("/a%20b/..%2f..%2fsecret", Missing::Forbidden),
        ("/index.html%00", Missing::Forbidden),
        ("//etc/passwd", Missing::NotFound),
        ("/nothing", Missing::NotFound),
        ("/a%20b", Missing::NotFound),
        ("secret", Missing::NotFound),
        ("/%ff", Missing::NotFound),
    ] {
        assert_eq!(store.find(target).err(), Some(why), "{target}");
    }
    std::fs::write(folder.join("www/a b/index.html"), "<html>").unwrap();
    assert_eq!(store.find("/a%20b?x").err(), Some(Missing::Folder));
    assert_eq!(store.find("/a%20b/?x").unwrap().len, 6);
    let store = Store::open(&folder.join("www/index.html")).unwrap();
    assert!(store.find("/").is_ok() && store.find("/index.html").is_ok());
    assert_eq!(store.find("/a%20b/clip.mpd").err(), Some(Missing::NotFound));
    std::fs::remove_dir_all(folder).unwrap();
}

/// RFC 9110 §8.8.2.1: no date later than now is told; and HTTP's dates begin with 1970, before which writing one down would panic.
#[test]
fn a_file_s_date_can_be_told_whatever_it_is() {
    let place = std::env::temp_dir().join(format!("playpath-dates-{}", std::process::id()));
    let file = File::create(&place).unwrap();
    let (now, century) = (SystemTime::now(), std::time::Duration::from_secs(100 * 365 * 86_400));
    let tags = [SystemTime::UNIX_EPOCH - century, now + century, now + 200 * century].map(|date| {
        file.set_modified(date).unwrap();
        let found = Store::open(&place).unwrap().find("/").unwrap();
        assert!((SystemTime::UNIX_EPOCH..=SystemTime::now()).contains(&found.modified), "{date:?}");
        found.tag
    });
    assert!(tags[0] != tags[1] && tags[1] != tags[2], "{tags:?}");
    std::fs::remove_file(place).unwrap();
}
