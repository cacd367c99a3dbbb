# ActiveRecord: migrations of many kinds, their way back, and the schema dump.
require "active_record"
require "stringio"
ActiveRecord::Base.establish_connection(adapter: "postgresql", host: ENV["PGHOST"], port: ENV["PGPORT"], username: "postgres", database: ENV["PGDATABASE"])
ActiveRecord::Base.logger = nil
ActiveRecord::Migration.verbose = false
class First < ActiveRecord::Migration[6.1]
  def change
    enable_extension "citext"
    create_table :authors, comment: "who writes" do |t|
      t.string :name, null: false, limit: 50, comment: "a name"
      t.citext :mail
      t.integer :status, default: 0
      t.decimal :price, precision: 10, scale: 2
      t.jsonb :data, default: {}
      t.text :tags, array: true, default: []
      t.uuid :token, default: "gen_random_uuid()"
      t.int4range :span
      t.timestamps
    end
    add_index :authors, :name, unique: true
    add_index :authors, "lower(name)", name: "authors_lower"
    add_index :authors, :status, where: "status IN (0,1)"
    add_index :authors, :tags, using: :gin
    add_check_constraint :authors, "status NOT IN (7, 8)", name: "no_seven"
    create_table :books, id: :uuid do |t|
      t.references :author, null: false, foreign_key: { on_delete: :cascade }
      t.string :title
    end
    create_join_table :authors, :books
  end
end
class Second < ActiveRecord::Migration[6.1]
  def change
    add_column :books, :pages, :integer
    rename_column :books, :title, :name
    change_column_null :books, :name, false, "none"
    change_column_default :books, :pages, from: nil, to: 3
    add_index :books, [:author_id, :name], order: { name: :desc }
    rename_table :books, :volumes
  end
end
class Author < ActiveRecord::Base; end
def dump
  out = StringIO.new
  ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection, out)
  puts out.string
end
First.migrate(:up)
dump
Second.migrate(:up)
dump
Author.create!(name: "Ann", tags: %w[a b], data: { x: 1 }, span: 1..3)
begin; Author.create!(name: "Bob", status: 7); rescue => e; puts e.class; end
begin; Author.create!(name: "Ann"); rescue => e; puts e.class; end
p Author.where("tags @> ARRAY[?]::text[]", ["a"]).pluck(:name, :tags, :data, :span)
p Author.upsert_all([{ id: 1, name: "Ann", created_at: Time.at(0), updated_at: Time.at(0), status: 1 }]).rows
p ActiveRecord::Base.connection.foreign_keys("volumes").map { |k| [k.from_table, k.to_table, k.on_delete] }
Second.migrate(:down)
p ActiveRecord::Base.connection.tables.sort
