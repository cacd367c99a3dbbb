require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "rails/test_unit/railtie"

module Books
  class Application < Rails::Application
    config.load_defaults 6.1
    config.api_only = true
    config.eager_load = false
    config.secret_key_base = ENV.fetch("SECRET_KEY_BASE", "only for development")
    config.hosts << "www.example.com"
    config.log_level = :warn
  end
end
