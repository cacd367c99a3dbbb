class Book < ApplicationRecord
  belongs_to :author
  validates :title, presence: true

  scope :tagged, ->(tag) { where("tags @> ARRAY[?]::text[]", tag) }
end
