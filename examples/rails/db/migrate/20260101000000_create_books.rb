class CreateBooks < ActiveRecord::Migration[6.1]
  def change
    create_table :authors do |t|
      t.string :name, null: false
      t.timestamps
    end
    add_index :authors, :name, unique: true

    create_table :books do |t|
      t.string :title, null: false
      t.references :author, null: false, foreign_key: { on_delete: :cascade }
      t.text :tags, array: true, null: false, default: []
      t.jsonb :details, null: false, default: {}
      t.timestamps
    end
    add_index :books, %i[title author_id], unique: true
    add_index :books, :tags, using: :gin
  end
end
