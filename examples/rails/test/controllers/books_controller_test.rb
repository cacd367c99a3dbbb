require "test_helper"

class BooksControllerTest < ActionDispatch::IntegrationTest
  LETTERS = { title: "Letters", author: "Ada", tags: ["poetry"] }.freeze

  test "a book is added once" do
    post "/books", params: LETTERS, as: :json
    assert_response :created
    post "/books", params: LETTERS, as: :json
    assert_response :conflict
    assert_equal 1, Book.count
  end

  test "books are found by tag" do
    post "/books", params: LETTERS, as: :json
    get "/books", params: { tag: "poetry" }
    assert_equal ["Letters"], response.parsed_body.map { |book| book["title"] }
    get "/books", params: { tag: "cooking" }
    assert_equal [], response.parsed_body
  end

  test "an author goes with the books" do
    post "/books", params: LETTERS, as: :json
    delete "/authors/Ada"
    assert_response :no_content
    assert_equal [0, 0], [Author.count, Book.count]
    delete "/authors/Ada"
    assert_response :not_found
  end
end
