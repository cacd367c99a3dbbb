require "test_helper"

class BookTest < ActiveSupport::TestCase
  test "JSON is found by its members" do
    ada = Author.create!(name: "Ada")
    ada.books.create!(title: "Notes", details: { pages: 66 })
    assert_equal 1, Book.where("details @> ?", { pages: 66 }.to_json).count
    assert_not Book.new(author: ada).valid?
  end

  test "each test begins with empty tables, in a database of its process" do
    assert_equal 0, Author.count
    assert_match(/-\d\z/, ApplicationRecord.connection.current_database)
  end
end
