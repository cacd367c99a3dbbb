class BooksController < ApplicationController
  def index
    books = Book.includes(:author).order(:title)
    books = books.tagged(params[:tag]) if params[:tag]
    render json: books.map { |book| { id: book.id, title: book.title, author: book.author.name, tags: book.tags } }
  end

  def create
    book = Book.transaction do
      author = Author.find_or_create_by!(name: params.require(:author))
      author.books.create!(params.permit(:title, tags: []))
    end
    render json: { id: book.id }, status: :created
  end
end
