//! A client of openapi-generator's rust (reqwest), compiled and run against the document for generators.

use penchant::apis::configuration::{ApiKey, Configuration};
use penchant::apis::{Error, content_api, people_api, recommendations_api};
use penchant::models::{RecommendationResult, SubmittedPiece};
use serde_json::json;

fn ids(result: &RecommendationResult) -> Vec<&str> {
    result.content.iter().map(|entry| entry.id.as_str()).collect()
}

fn refusal<T, E>(status: u16, answer: Result<T, Error<E>>) -> String {
    match answer {
        Err(Error::ResponseError(refused)) => {
            assert_eq!(refused.status.as_u16(), status);
            refused.content
        }
        _ => panic!("no refusal"),
    }
}

fn main() {
    let configuration = Configuration {
        base_path: std::env::var("ADDRESS").unwrap(),
        api_key: Some(ApiKey { prefix: None, key: std::env::var("KEY").unwrap() }),
        ..Configuration::default()
    };
    let source = "openapi-generator/rust";
    // Its `Filters` has no room for members of one's own; all else is written and read as it is.
    let pieces: Vec<SubmittedPiece> = serde_json::from_value(json!([
        {"id": "a/1", "categories": {"genre": ["noir", "crime"]}, "filters": {"catalogs": ["x,y"]}, "extras": {"year": 2013}},
        {"id": "b", "categories": {"genre": [{"key": "noir", "weight": 80}, {"key": "war", "weight": 0}]}},
        {"id": "c,d", "categories": {"genre": ["noir", {"key": "crime", "weight": 3}]}},
        {"id": "e", "categories": {"people": {"director": ["Welles"]}, "genre": ["noir"]}}
    ]))
    .unwrap();
    let receipt = content_api::submit_content(&configuration, source, pieces.clone()).unwrap();
    assert_eq!(receipt.accepted, 4);

    let get = |id: &str, version| content_api::get_content(&configuration, source, id, version, None, None);
    let read = get("a/1", Some(receipt.version)).unwrap();
    assert_eq!(read.extras["year"], 2013);
    assert_eq!(read.filters.catalogs, Some(Some(vec!["x,y".to_string()])));
    for piece in &pieces {
        assert_eq!(get(&piece.id, None).unwrap().categories, piece.categories);
    }

    let similar = |id: &str, catalogs: Option<Vec<String>>, exclude: Option<Vec<String>>| {
        recommendations_api::similar_content(
            &configuration, source, id, None, None, catalogs, None, None, Some("jaccard"), None, None, exclude, None,
            None, None, None, None,
        )
        .unwrap()
    };
    let near = similar("a/1", None, Some(vec!["b".to_string(), "c,d".to_string()]));
    assert_eq!(ids(&near), ["e"]);
    assert_eq!(near.content[0].score, 0.666666666667);
    assert_eq!(ids(&similar("b", Some(vec!["x,y".to_string()]), None)), ["a/1"]);

    people_api::record_interaction(&configuration, source, "kim", "RateLike", "b", None, None, None).unwrap();
    let listed = recommendations_api::recommend(
        &configuration, source, "kim", None, None, None, None, None, None, None, None, None, None, None, None, None,
        None, None,
    )
    .unwrap();
    assert_eq!(listed.content.len(), 3);

    let blank = vec![SubmittedPiece::new(String::new(), Default::default())];
    assert!(refusal(422, content_api::submit_content(&configuration, source, blank)).contains("/0/id"));
    assert!(refusal(404, get("no", None)).contains("unknown-piece"));
    println!("passed");
}
