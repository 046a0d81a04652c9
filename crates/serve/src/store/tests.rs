use super::*;

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
    let store = Store::open(&folder.join("www/index.html")).unwrap();
    assert!(store.find("/").is_ok() && store.find("/index.html").is_ok());
    assert_eq!(store.find("/a%20b/clip.mpd").err(), Some(Missing::NotFound));
    std::fs::remove_dir_all(folder).unwrap();
}
