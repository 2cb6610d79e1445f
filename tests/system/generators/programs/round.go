// A client of openapi-generator's go, compiled and run against the document for generators.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"reflect"

	"example.org/generators/penchant"
)

func check(holds bool, what string) {
	if !holds {
		panic(what)
	}
}

// done returns the value of a request that must not fail, with what was answered where it does.
func done[T any](value T, _ *http.Response, err error) T {
	if refused, is := err.(*penchant.GenericOpenAPIError); is {
		panic(string(refused.Body()))
	}
	check(err == nil, "a request failed")
	return value
}

func refusal(status int, answer *http.Response, err error) []byte {
	check(answer != nil && answer.StatusCode == status, "another status")
	return err.(*penchant.GenericOpenAPIError).Body()
}

func main() {
	configuration := penchant.NewConfiguration()
	configuration.Servers = penchant.ServerConfigurations{{URL: os.Getenv("ADDRESS")}}
	client := penchant.NewAPIClient(configuration)
	keys := map[string]penchant.APIKey{"key": {Key: os.Getenv("KEY")}}
	ctx := context.WithValue(context.Background(), penchant.ContextAPIKeys, keys)
	content, lists := client.ContentAPI, client.RecommendationsAPI
	source := "openapi-generator/go"

	body := `[
	  {"id": "a/1", "categories": {"genre": ["noir", "crime"]}, "filters": {"region": "eu", "catalogs": ["x,y"]}, "extras": {"year": 2013}},
	  {"id": "b", "categories": {"genre": [{"key": "noir", "weight": 80}, {"key": "war", "weight": 0}]}},
	  {"id": "c,d", "categories": {"genre": ["noir", {"key": "crime", "weight": 3}]}},
	  {"id": "e", "categories": {"people": {"director": ["Welles"]}, "genre": ["noir"]}}]`
	var pieces []penchant.SubmittedPiece
	check(json.Unmarshal([]byte(body), &pieces) == nil, "pieces are read")
	receipt := done(content.SubmitContent(ctx, source).SubmittedPiece(pieces).Execute())
	check(receipt.Accepted == 4, "submitted")

	read := done(content.GetContent(ctx, source, "a/1").MinVersion(receipt.Version).Execute())
	check(read.Filters.AdditionalProperties["region"] == "eu", "own members come back")
	check(read.Extras["year"] == 2013.0, "extras come back")
	for _, piece := range pieces[2:] {
		found := done(content.GetContent(ctx, source, piece.Id).Execute())
		check(reflect.DeepEqual(found.Categories, piece.Categories), "categories of "+piece.Id)
	}

	near := done(lists.SimilarContent(ctx, source, "a/1").Exclude([]string{"b", "c,d"}).Algo("jaccard").Execute())
	check(len(near.Content) == 1 && near.Content[0].Id == "e", "two ids are excluded")
	check(near.Content[0].Score == 0.666666666667, "a score keeps its decimals")
	within := done(lists.SimilarContent(ctx, source, "b").Catalogs([]string{"x,y"}).Execute())
	check(len(within.Content) == 1 && within.Content[0].Id == "a/1", "a catalog with a comma")

	recorded := done(client.PeopleAPI.RecordInteraction(ctx, source, "kim", "RateLike", "b").Execute())
	check(!recorded.Timestamp.IsZero(), "recorded")
	check(len(done(lists.Recommend(ctx, source, "kim").Execute()).Content) == 3, "recommended")

	blank := *penchant.NewSubmittedPiece("", map[string]interface{}{})
	_, answer, err := content.SubmitContent(ctx, source).SubmittedPiece([]penchant.SubmittedPiece{blank}).Execute()
	check(bytes.Contains(refusal(422, answer, err), []byte("/0/id")), "422 with its pointer")
	_, answer, err = content.GetContent(ctx, source, "no").Execute()
	check(bytes.Contains(refusal(404, answer, err), []byte("unknown-piece")), "404")
	println("passed")
}
